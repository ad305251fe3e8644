"""Nouns, compounds and names of the demo corpus, as tables for `lexicon.py`.

A line of NOUNS: English singular and plural, gender, German singular and plural, the singular outside the nominative
where it differs (weak nouns), and tags. `-` stands for a form that is missing or regular; a noun without a plural is a
mass noun. Tags say which adjectives and verbs a noun goes with, `he` and `she` which pronoun a person takes.
"""

NOUNS = """
man men m Mann Männer - person adult he
woman women f Frau Frauen - person adult she
lady ladies f Dame Damen - person adult she
boy boys m Junge Jungen Jungen person kid he
girl girls n Mädchen Mädchen - person kid she
child children n Kind Kinder - person kid
teacher teachers m Lehrer Lehrer - person adult job he
doctor doctors m Arzt Ärzte - person adult job he
nurse nurses f Krankenschwester Krankenschwestern - person adult she
student students m Student Studenten Studenten person he
neighbour neighbours m Nachbar Nachbarn Nachbarn person adult he
farmer farmers m Bauer Bauern Bauern person adult he
baker bakers m Bäcker Bäcker - person adult he
mother mothers f Mutter Mütter - person kin one she
father fathers m Vater Väter - person kin one he
brother brothers m Bruder Brüder - person kin he
sister sisters f Schwester Schwestern - person kin she
aunt aunts f Tante Tanten - person kin adult she
uncle uncles m Onkel Onkel - person kin adult he
grandmother grandmothers f Großmutter Großmütter - person kin one she
grandfather grandfathers m Großvater Großväter - person kin one he
friend friends m Freund Freunde - person kin he
dog dogs m Hund Hunde - animal
cat cats f Katze Katzen - animal
horse horses n Pferd Pferde - animal
bird birds m Vogel Vögel - animal
cow cows f Kuh Kühe - animal
book books n Buch Bücher - text print written goods lay small
letter letters m Brief Briefe - text print written lay small mail
newspaper newspapers f Zeitung Zeitungen - print goods lay
story stories f Geschichte Geschichten - text written tale
poem poems n Gedicht Gedichte - text written tale
film films m Film Filme - text show
song songs n Lied Lieder - text song
picture pictures n Bild Bilder - art show goods paint mail
question questions f Frage Fragen - question
answer answers f Antwort Antworten - question written
window windows n Fenster Fenster - opening
door doors f Tür Türen - opening
box boxes f Kiste Kisten - luggage openable container
suitcase suitcases m Koffer Koffer - luggage openable container goods small
bag bags f Tasche Taschen - luggage openable container goods small
cupboard cupboards m Schrank Schränke - furniture openable goods container
table tables m Tisch Tische - furniture goods
chair chairs m Stuhl Stühle - furniture goods place repairable
bed beds n Bett Betten - furniture goods
lamp lamps f Lampe Lampen - machine switch goods stand repairable
clock clocks f Uhr Uhren - machine goods repairable
radio radios n Radio Radios - machine switch goods stand repairable
computer computers m Computer Computer - machine switch goods repairable
mirror mirrors m Spiegel Spiegel - furniture goods
cup cups f Tasse Tassen - vessel goods stand
glass glasses n Glas Gläser - vessel goods stand
bottle bottles f Flasche Flaschen - vessel goods stand
pot pots f Kanne Kannen - vessel goods stand
plate plates m Teller Teller - dish goods stand
knife knives n Messer Messer - tool goods lay small
spoon spoons m Löffel Löffel - tool goods lay small
key keys m Schlüssel Schlüssel - tool lay small
coat coats m Mantel Mäntel - cloth goods small
jacket jackets f Jacke Jacken - cloth goods small
dress dresses n Kleid Kleider - cloth goods
shirt shirts n Hemd Hemden - cloth goods
hat hats m Hut Hüte - cloth goods small
shoe shoes m Schuh Schuhe - cloth goods several
car cars n Auto Autos - vehicle goods repairable
bicycle bicycles n Fahrrad Fahrräder - vehicle goods repairable small
train trains m Zug Züge - vehicle public
bus buses m Bus Busse - vehicle public repairable
ship ships n Schiff Schiffe - vehicle
apple apples m Apfel Äpfel - food fruit
pear pears f Birne Birnen - food fruit
plum plums f Pflaume Pflaumen - food fruit several
cherry cherries f Kirsche Kirschen - food fruit several
orange oranges f Orange Orangen - food fruit
tomato tomatoes f Tomate Tomaten - food fruit
potato potatoes f Kartoffel Kartoffeln - food cookable
egg eggs n Ei Eier - food cookable
fish - m Fisch - - food cookable
bread - n Brot - - food bakeable
cheese - m Käse - - food
cake cakes m Kuchen Kuchen - food bakeable
soup soups f Suppe Suppen - food cookable hot
coffee - m Kaffee - - drink hot
tea - m Tee - - drink hot
milk - f Milch - - drink cool
water - n Wasser - - drink cool
juice - m Saft - - drink cool
wine - m Wein - - drink
beer - n Bier - - drink
house houses n Haus Häuser - building inside near
school schools f Schule Schulen - building inside near goal
church churches f Kirche Kirchen - building inside near goal
hotel hotels n Hotel Hotels - building inside near goal
museum museums n Museum Museen - building inside near goal sight
library libraries f Bibliothek Bibliotheken - building inside near goal
shop shops m Laden Läden - building inside near goal
station stations m Bahnhof Bahnhöfe - building near goal
kitchen kitchens f Küche Küchen - room inside
room rooms n Zimmer Zimmer - room inside
office offices n Büro Büros - room inside
garden gardens m Garten Gärten - area inside
park parks m Park Parks - area inside goal
forest forests m Wald Wälder - area inside
village villages n Dorf Dörfer - area inside
city cities f Stadt Städte - area inside sight
market markets m Markt Märkte - area goal
street streets f Straße Straßen - street
bridge bridges f Brücke Brücken - bridge
river rivers m Fluss Flüsse - river goal
tree trees m Baum Bäume - plant near
flower flowers f Blume Blumen - flower
time - f Zeit - - lack
money - n Geld - - lack
weather - n Wetter - - weather
sun - f Sonne - - sky
"""

# First part in English, its form inside a German compound, and the nouns it goes before.
COMPOUNDS = """
coffee Kaffee cup pot
tea Tee cup pot glass shop
milk Milch bottle pot
water Wasser glass bottle
wine Wein glass bottle shop
beer Bier glass bottle
juice Saft glass bottle
apple Apfel tree cake juice
plum Pflaumen tree cake juice
cherry Kirsch tree cake juice
orange Orangen tree cake juice
tomato Tomaten soup juice
potato Kartoffel soup
fish Fisch soup market shop
kitchen Küchen table chair door window clock lamp cupboard
garden Garten table chair door house lamp
office Büro chair lamp door window clock computer
school Schul book bag garden door bus clock
church Kirchen door clock window
city Stadt park bus library museum church
village Dorf school church street shop
hotel Hotel room kitchen bed door garden
winter Winter coat shoe jacket dress
summer Sommer coat shoe jacket dress hat
flower Blumen market shop garden picture
book Buch shop
shoe Schuh shop cupboard
picture Bilder book
"""

# Compounds that only the test set has; both of their parts stand in other compounds of the training set.
UNSEEN = """
tea glass
juice bottle
cherry juice
plum tree
office clock
hotel garden
summer coat
church window
city church
fish market
garden lamp
winter dress
"""

MEN = "Paul Peter Tim Jan Leon Otto"
WOMEN = "Anna Maria Laura Julia Emma Clara"
CITIES = """
Berlin Berlin
Hamburg Hamburg
Munich München
Cologne Köln
Vienna Wien
Zurich Zürich
London London
Rome Rom
Prague Prag
"""
